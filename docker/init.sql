create database shop;
